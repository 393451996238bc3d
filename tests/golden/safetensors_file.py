"""Reads and writes safetensors files without the safetensors library.

Layout: u64 little-endian header length, the header as JSON, then the tensors' bytes; offsets count from the end of the header.
Source: https://github.com/huggingface/safetensors, "Format".
"""
import json
import struct

import numpy
import torch

_NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int32: "I32", torch.int64: "I64", torch.bool: "BOOL", torch.uint8: "U8"}
_TYPES = {name: dtype for dtype, name in _NAMES.items()}


def _bytes(tensor):
    flat = tensor.contiguous().reshape(-1)
    return (flat.view(torch.int16) if tensor.dtype == torch.bfloat16 else flat).numpy().tobytes()


def write(path, tensors, pad=True):
    """Writes {name: tensor} in the order given; pad aligns the data to 8 bytes with spaces, as the official library does."""
    header, blobs, offset = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in tensors.items():
        blob = _bytes(tensor)
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    if pad:
        text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read(path):
    """Returns {name: tensor} in the file's dtypes."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length].decode().rstrip("\0 "))
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        dtype = _TYPES[entry["dtype"]]
        stored = torch.from_numpy(numpy.frombuffer(data[begin:end], numpy.uint8).copy())
        tensors[name] = (stored if dtype == torch.uint8 else stored.view(dtype)).reshape(entry["shape"])
    return tensors
