"""The versions of torch that the backend is built for: it uses C++ interfaces that change between them."""

FROM = (2, 13)
BELOW = (2, 14)


def fits(version):
    """Whether a version such as "2.13.0+cu130" lies in the range."""
    numbers = version.split("+")[0].split(".")
    try:
        return FROM <= (int(numbers[0]), int(numbers[1])) < BELOW
    except (ValueError, IndexError):
        return False


def text():
    """The range in words."""
    return ">= {}.{}, < {}.{}".format(*FROM, *BELOW)


def check(version, path):
    """ImportError unless the version fits."""
    if not fits(version):
        raise ImportError(
            f"smdistributed.dataparallel.torch.torch_smddp needs torch {text()}, but torch {version} is installed at {path}"
        )
