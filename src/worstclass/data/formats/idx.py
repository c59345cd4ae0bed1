"""idx files: the format of MNIST and its relatives, plain or compressed by gzip."""

from __future__ import annotations

import gzip
import io
import math
import zlib

import numpy as np

from worstclass.data.formats.undecoded import Images
from worstclass.exceptions import DatasetError

GZIP_MAGIC = b"\x1f\x8b"
UNSIGNED_BYTES = 0x08

#: bytes that an unpacked file may have; the largest official one has 548 million
MOST_BYTES = 4 << 30


def unpacked(content: bytes, where: str) -> bytes:
    """Return the bytes of a file, decompressed if they begin as gzip does."""
    if not content.startswith(GZIP_MAGIC):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            plain = stream.read(MOST_BYTES + 1)
    except (EOFError, zlib.error, OSError) as error:
        raise DatasetError(f"{where} is damaged or cut short: {error}") from None
    if len(plain) > MOST_BYTES:
        raise DatasetError(f"{where} is refused: it has more than {MOST_BYTES:,} bytes unpacked.")
    return plain


def read_idx(content: bytes, n_dimensions: int, where: str) -> Images:
    """Parse an idx file of unsigned bytes.

    Parameters
    ----------
    content : the bytes of the file, compressed or not.
    n_dimensions : what the file must have: 3 for images, 1 for labels.
    where : what an error calls the file.

    Examples
    --------
    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]), 1, "labels").tolist()
    [5, 0, 4]
    """
    plain = unpacked(content, where)
    header = 4 + 4 * n_dimensions
    expected = bytes([0, 0, UNSIGNED_BYTES, n_dimensions])
    if plain[:4] != expected:
        raise DatasetError(
            f"{where} is not an idx file of unsigned bytes in {n_dimensions} dimension(s): it must begin with "
            f"{expected.hex(' ')}. Got {plain[:4].hex(' ') or 'nothing'}."
        )
    if len(plain) < header:
        raise DatasetError(f"{where} is cut short: its header has {len(plain)} of {header} bytes.")
    shape = tuple(int(size) for size in np.frombuffer(plain, dtype=">u4", count=n_dimensions, offset=4))
    if len(plain) - header != math.prod(shape):
        raise DatasetError(
            f"{where} is damaged or cut short: its header tells of {math.prod(shape):,} bytes {shape}, and "
            f"{len(plain) - header:,} follow."
        )
    return np.frombuffer(plain, dtype=np.uint8, offset=header).reshape(shape)
