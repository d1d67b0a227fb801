"""Exceptions: one class for each kind of fault, with the sentences that the program prints."""


class Error(Exception):
    """Anything that limpid refuses or fails at."""


class InputError(Error, ValueError):
    """The input is wrong: a broken file, a shape that is no image, layers of different sizes."""


class OptionError(Error, ValueError):
    """An option has a value that is not allowed."""


class UnknownNameError(Error, ValueError):
    """A name that nothing has; the message gives the nearest and all known ones."""


class MissingLayerError(Error, ValueError):
    """The frame does not have a layer that the method needs."""


class UnsupportedError(Error, NotImplementedError):
    """The input is fine, but this build, method or device cannot do it."""


class DeviceError(Error, RuntimeError):
    """The device failed or is not there."""


class FileError(Error, OSError):
    """Reading or writing failed."""


class NoFileError(FileError, FileNotFoundError):
    """The file is not there."""


class StoppedError(Error, RuntimeError):
    """The work was stopped."""


class InternalError(Error, RuntimeError):
    """An internal error of limpid; please report it."""
