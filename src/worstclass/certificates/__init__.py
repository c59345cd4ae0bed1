"""What can be promised about a fitted classifier, and on which grounds; the proofs are in docs/theory.md.

- ``certify``: limits of the class errors and a verdict on wanted floors, from held-out rows.
- ``training_certificate``: counts on the training rows, and which assumptions of the paper's theorem held.
- ``generalisation_bound``: the paper's bounds for unseen rows, from training rows alone.
"""

from __future__ import annotations

from worstclass.certificates.certificate import Certificate, ClassLimit
from worstclass.certificates.generalisation import GeneralisationBound, generalisation_bound
from worstclass.certificates.held_out import certify
from worstclass.certificates.training import TrainingCertificate, training_certificate

__all__ = [
    "Certificate",
    "ClassLimit",
    "GeneralisationBound",
    "TrainingCertificate",
    "certify",
    "generalisation_bound",
    "training_certificate",
]
