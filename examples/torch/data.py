"""Images for training: a folder of folders, one for each class, or the IDX files of Fashion-MNIST."""

import gzip
import struct
import warnings
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

# Where the Debian package dataset-fashion-mnist puts it.
DEFAULT_DATA = "/usr/share/datasets/fashion-mnist"


def read_idx(path):
    """The tensor in an IDX file of bytes, gzipped or not."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rb") as file:
        zero, kind, dimensions = struct.unpack(">HBB", file.read(4))
        if zero != 0 or kind != 8:
            raise ValueError(f"{path} is not an IDX file of bytes")
        shape = struct.unpack(f">{dimensions}I", file.read(4 * dimensions))
        content = bytearray(file.read())
    return torch.frombuffer(content, dtype=torch.uint8).reshape(shape)


def idx_pair(folder, stem):
    """Images and labels of one part of an IDX data set, or None."""
    files = [
        next((path for path in sorted(folder.glob(f"{stem}-{kind}-ubyte*"))), None) for kind in ("images-idx3", "labels-idx1")
    ]
    return None if None in files else [read_idx(path) for path in files]


class FolderOfClasses(Dataset):
    """JPEG or PNG files under root/<class>/, resized to a square. A file that cannot be decoded becomes a grey image: the same
    decision on every rank, so that all take the same number of steps."""

    def __init__(self, root, size):
        from torchvision.datasets import ImageFolder

        self._folder = ImageFolder(root)
        self._size = size
        self.classes = self._folder.classes
        self._damaged = set()

    def __len__(self):
        return len(self._folder)

    def __getitem__(self, index):
        import numpy
        from PIL import Image

        path, label = self._folder.samples[index]
        try:
            with Image.open(path) as image:
                pixels = numpy.array(image.convert("RGB").resize((self._size, self._size), Image.BILINEAR))
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            if path not in self._damaged:
                self._damaged.add(path)
                warnings.warn(f"{path} cannot be read ({error}); a grey image takes its place", stacklevel=2)
            pixels = numpy.full((self._size, self._size, 3), 128, dtype=numpy.uint8)
        return torch.from_numpy(pixels).permute(2, 0, 1), label


class Images:
    """Training and test data with what the model must know of them."""

    def __init__(self, root, size):
        root = Path(root)
        train, test = idx_pair(root, "train"), idx_pair(root, "t10k")
        if train and test:
            self.train, self.test = (self._grey(images, labels, size) for images, labels in (train, test))
            self.channels, self.classes = 1, int(train[1].max()) + 1
        elif root.is_dir():
            try:
                self._read_folders(root, size)
            except FileNotFoundError as error:
                raise SystemExit(f"--data {root}: {error}") from None
        else:
            raise SystemExit(f"--data {root}: no such folder (the Debian package dataset-fashion-mnist has the default one)")

    def require(self, size, batch):
        """Ends the program unless each of `size` ranks has a batch to train on, and something to test. Needs no process group."""
        if len(self.train) < size * batch:
            raise SystemExit(f"{len(self.train)} images are too few to train with batches of {batch} on {size} ranks")
        if not len(self.test):
            raise SystemExit("there are no images to test on")

    def _read_folders(self, root, size):
        """root/train and root/val, or one folder of which every tenth image is for testing."""
        parts = [root / name for name in ("train", "val")]
        if all(part.is_dir() for part in parts):
            self.train, self.test = (FolderOfClasses(part, size) for part in parts)
            self.classes = len(self.train.classes)
        else:
            whole = FolderOfClasses(root, size)
            self.classes = len(whole.classes)
            everything = range(len(whole))
            self.train = torch.utils.data.Subset(whole, [i for i in everything if i % 10])
            self.test = torch.utils.data.Subset(whole, [i for i in everything if i % 10 == 0])
        self.channels = 3

    @staticmethod
    def _grey(images, labels, size):
        images = images.unsqueeze(1)
        if size == 32:
            images = torch.nn.functional.pad(images, (2, 2, 2, 2))
        elif size != images.shape[-1]:
            images = torch.nn.functional.interpolate(images, (size, size), mode="bilinear", antialias=True)
        return TensorDataset(images, labels.long())


def loader(dataset, rank, size, batch, workers, train, seed):
    """This rank's share in batches, and the sampler whose epoch must be set. All ranks take the same number of steps: for training, what
    does not fill a step of all ranks is left out, other images in each epoch; for testing, the data set begins anew until every rank
    has as much. Order and content follow from seed and epoch, whatever the number of workers is."""
    sampler = DistributedSampler(dataset, size, rank, shuffle=train, seed=seed, drop_last=train)
    # A generator of its own: the loader draws from it, more or less often with the number of workers.
    generator = torch.Generator().manual_seed(seed)
    batches = DataLoader(
        dataset, batch, sampler=sampler, num_workers=workers, drop_last=train, persistent_workers=workers > 0, generator=generator
    )
    return batches, sampler


def prepare(images, device, train):
    """Bytes to normalised numbers in channels_last; for training, mirrored at random and moved by up to two pixels."""
    images = images.to(device, non_blocking=True).float().div_(255).sub_(0.4).div_(0.3)
    if train:
        mirrored = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
        images = torch.where(mirrored, images.flip(3), images)
        shifts = torch.randint(-2, 3, (2,)).tolist()
        images = images.roll(shifts, (2, 3))
    return images.contiguous(memory_format=torch.channels_last)
