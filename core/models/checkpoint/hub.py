"""Models of the Hugging Face hub: in the cache that all its programs share, or fetched into it.

Only what we read is fetched: config.json, the tokenizer, and weights as safetensors. A download
that was interrupted goes on where it stopped, also in another process: huggingface_hub itself
begins anew then, so we fetch the large files with its `http_get`, under the name that it uses.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import httpx2
from huggingface_hub import (
    HfApi,
    constants,
    get_hf_file_metadata,
    get_token,
    hf_hub_download,
    hf_hub_url,
    try_to_load_from_cache,
)
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.file_download import http_get, repo_folder_name
from huggingface_hub.utils import WeakFileLock, build_hf_headers

from core.models.checkpoint.error import CheckpointError
from core.models.checkpoint.folder import CONFIG, INDEX, PICKLES, WEIGHTS, locate, shard_names
from core.models.checkpoint.vocabulary import TOKENIZER_FILES

SHA256 = re.compile(r"[0-9a-f]{64}")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Download:
    """What has to be fetched of one version of a model: file names with their sizes in bytes."""

    repo: str
    revision: str
    sizes: dict[str, int]

    @property
    def size(self) -> int:
        return sum(self.sizes.values())


def cached(*repos: str) -> Path | None:
    """The folder of a model that is completely here, or None. Asks nobody.

    repos: the IDs under which it may be here; "" stands for none.
    """
    for repo in filter(None, repos):
        found = try_to_load_from_cache(repo, CONFIG)
        if isinstance(found, str) and _is_complete(Path(found).parent):
            return Path(found).parent
    return None


def _is_complete(folder: Path) -> bool:
    try:
        return bool(locate(folder).weights)
    except CheckpointError:
        return False


def fetch(repo: str, progress: Progress | None = None) -> Path:
    """The folder of the model, after its files were brought here.

    progress: told how many bytes are here, and of how many; what it raises ends the download, and
    the next one goes on from there. Without it a bar is drawn in the terminal.
    Raises CheckpointError.
    """
    with _explained(repo):
        download = plan(repo)
        here, report = 0, None
        for name, size in download.sizes.items():
            if progress:
                report = _shifted(progress, here, download.size)
                report(0)
            path = _file(download, name, report)
            here += size
        if progress:
            progress(download.size, download.size)
    return path.parent


def plan(repo: str) -> Download:
    """Which files of the newest version are needed. Raises CheckpointError where none can be read.

    config.json comes last: a folder that has it is complete.
    """
    with _explained(repo):
        info = HfApi().model_info(repo, files_metadata=True)
        sizes = {file.rfilename: file.size or 0 for file in info.siblings}
        small = [name for name in (*TOKENIZER_FILES, CONFIG) if name in sizes]
        weights = _weights(repo, info.sha, sizes)
    return Download(repo, info.sha, {name: sizes[name] for name in (*weights, *small)})


def _weights(repo: str, revision: str, sizes: dict[str, int]) -> list[str]:
    if WEIGHTS in sizes:
        return [WEIGHTS]
    if INDEX in sizes:
        path = hf_hub_download(repo, INDEX, revision=revision)
        return [INDEX, *(name for name in shard_names(Path(path)) if name in sizes)]
    if any(name.endswith(PICKLES) for name in sizes):
        raise CheckpointError("hub_pickle", repo=repo)
    raise CheckpointError("hub_no_weights", repo=repo)


def _file(download: Download, name: str, report: Callable[[int], None] | None) -> Path:
    """One file in the cache; the large ones in steps that survive an interruption."""
    revision = download.revision
    if name.endswith(".safetensors"):
        _blob(hf_hub_url(download.repo, name, revision=revision), download.repo, report)
    if name == CONFIG:  # asked for by the branch, it also notes which version that is; see `cached`
        revision = constants.DEFAULT_REVISION
    return Path(hf_hub_download(download.repo, name, revision=revision))


def _blob(url: str, repo: str, report: Callable[[int], None] | None) -> None:
    """Bring the content of one file into the cache, going on from what is there.

    Raises CheckpointError if it is not what the hub says it is.
    """
    about = get_hf_file_metadata(url, token=get_token())
    cache, name = Path(constants.HF_HUB_CACHE), repo_folder_name(repo_id=repo, repo_type="model")
    blobs, locks = cache / name / "blobs", cache / ".locks" / name
    blob, partial = blobs / about.etag, blobs / f"{about.etag}.incomplete"
    for folder in (blobs, locks):
        folder.mkdir(parents=True, exist_ok=True)
    with WeakFileLock(locks / f"{about.etag}.lock"):
        if blob.exists():
            return
        with partial.open("ab") as file:
            http_get(
                url,
                file,
                resume_size=file.tell(),
                headers=build_hf_headers(),
                expected_size=about.size,
                tqdm_class=_meter(report) if report else None,
            )
        if SHA256.fullmatch(about.etag) and _digest(partial) != about.etag:
            partial.unlink()
            raise CheckpointError("hub_damaged", repo=repo)
        partial.replace(blob)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shifted(progress: Progress, before: int, total: int) -> Callable[[int], None]:
    return lambda here: progress(before + here, total)


def _meter(report: Callable[[int], None]) -> type:
    """What `http_get` takes for a progress bar; it only counts."""

    class Meter:
        def __init__(self, *_, initial: int = 0, **__) -> None:
            self.here = initial
            report(self.here)

        def update(self, n: int) -> None:
            self.here += n
            report(self.here)

        def __enter__(self) -> Meter:
            return self

        def __exit__(
            self, kind: type | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            pass

    return Meter


@contextmanager
def _explained(repo: str) -> Iterator[None]:
    """Turn what the network and the disk raise into a sentence."""
    try:
        yield
    except GatedRepoError as error:
        raise CheckpointError("hub_gated", repo=repo) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise CheckpointError("hub_unknown", repo=repo) from error
    except (HfHubHTTPError, OfflineModeIsEnabled, httpx2.HTTPError) as error:
        raise CheckpointError("hub_unreachable", repo=repo) from error
    except OSError as error:
        kind = "disk_full" if error.errno == errno.ENOSPC else "hub_unreachable"
        raise CheckpointError(kind, repo=repo) from error
