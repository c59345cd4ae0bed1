"""A fitted model as one file for other programs: ONNX, or a program of ``torch.export``."""
