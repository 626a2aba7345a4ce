# SPDX-License-Identifier: BSD-3-Clause
"""What mpi4py's tests use of CuPy, on device memory of whatever CUDA driver the process has, the simulated one too.

CuPy itself compiles kernels, which needs a GPU. Here elements are read and written by way of NumPy
arrays on the host; only contiguous arrays, and views of them, have a place on the device.
"""
import ctypes
import types

import numpy

__version__ = "13.4.0"

driver = ctypes.CDLL("libcuda.so.1")
NO_STREAM, DLPACK_ON_CUDA = None, 2


def call(name, *arguments):
    result = getattr(driver, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name}: error {result}")


def choose_device():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)


choose_device()


class Memory:
    """Device memory of at least one byte, freed with its last array."""

    def __init__(self, size):
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        self.address = address.value

    def __del__(self):
        driver.cuMemFree_v2(ctypes.c_uint64(self.address))


def on_host(values, dtype):
    """As an array of NumPy's, of another type if one is named; what does not fit wraps."""
    values = values.get() if isinstance(values, ndarray) else numpy.asarray(values)
    return values if dtype is None else values.astype(dtype)


class ndarray:
    """`layout` is an array of NumPy's that is never read: its shape and strides, and its address in `base`, are those on
    the device."""

    def __init__(self, layout, base=None, memory=None):
        self.layout = layout
        self.base = layout if base is None else base
        self.memory = memory or Memory(self.base.nbytes)

    dtype = property(lambda self: self.layout.dtype)
    shape = property(lambda self: self.layout.shape)
    size = property(lambda self: self.layout.size)
    itemsize = property(lambda self: self.layout.itemsize)
    typecode = property(lambda self: self.layout.dtype.char)
    T = property(lambda self: self.view(self.layout.T))

    def view(self, layout):
        return ndarray(layout, self.base, self.memory)

    def address(self):
        return self.memory.address + self.layout.ctypes.data - self.base.ctypes.data

    def copied(self):
        """A copy of the whole memory, and this array's part of it."""
        copy = numpy.empty(self.base.nbytes, "b")
        call("cuMemcpyDtoH_v2", ctypes.c_void_p(copy.ctypes.data), ctypes.c_uint64(self.memory.address),
             ctypes.c_size_t(copy.nbytes))
        start = self.layout.ctypes.data - self.base.ctypes.data
        return copy, numpy.ndarray(self.shape, self.dtype, copy, start, self.layout.strides)

    def get(self):
        return self.copied()[1]

    def __setitem__(self, index, value):
        copy, part = self.copied()
        part[index] = on_host(value, self.dtype)
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.memory.address), ctypes.c_void_p(copy.ctypes.data),
             ctypes.c_size_t(copy.nbytes))

    def __getitem__(self, index):
        part = self.layout[index]
        return self.view(part) if isinstance(part, numpy.ndarray) else self.get()[index]

    def fill(self, value):
        self[...] = value

    def ravel(self):
        return self.view(self.layout.reshape(-1))

    def __len__(self):
        return len(self.layout)

    def __iter__(self):
        return iter(self.get())

    def __eq__(self, other):
        return self.get() == (other.get() if isinstance(other, ndarray) else other)

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "strides": self.layout.strides,
                "data": (self.address() if self.size else 0, False)}

    def buffer_info(self):
        return self.address(), self.size

    def __dlpack_device__(self):
        return (DLPACK_ON_CUDA, 0)

    def __dlpack__(self, stream=None, max_version=None, **options):
        import dlpackimpl  # of mpi4py's tests
        if not self.layout.flags.forc:
            raise BufferError("only contiguous arrays can be described")
        managed = dlpackimpl.make_dl_managed_tensor(self, max_version[0] if max_version else 0)
        managed.dl_tensor.device.device_type = DLPACK_ON_CUDA
        return dlpackimpl.make_py_capsule(managed, owned=True)


def zeros(shape, dtype="d"):
    created = ndarray(numpy.empty(shape, dtype))
    created.fill(0)
    return created


def ones(shape, dtype="d"):
    created = zeros(shape, dtype)
    created.fill(1)
    return created


def array(values, dtype=None):
    values = on_host(values, dtype)
    created = zeros(values.shape, values.dtype)
    created[...] = values
    return created


asarray = array


def synchronize():
    call("cuStreamSynchronize", NO_STREAM)


cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(synchronize=synchronize),
                             Device=lambda number: types.SimpleNamespace(use=lambda: None),
                             runtime=types.SimpleNamespace(is_hip=False, getDeviceCount=lambda: 1))
