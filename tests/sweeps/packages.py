"""Builds the wheel and the sdist, installs each into environments of its own, and uses it there.

    python tests/sweeps/packages.py

Each is installed twice: without torch, where what reads a trace must work and `run` says what is missing, and with
the torch that constraints.txt pins, where the first example is run. Needs PyPI, about 2 GB of disk and some
minutes; exits with 1 where something differs from what is expected.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "detach_between_layers.py"


def run(*command: str | Path, cwd: Path, expect: int = 0) -> str:
    """Output of a command that must end with `expect`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode != expect or "Traceback" in done.stderr:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def build(kind: str, tools: Path, into: Path) -> Path:
    run(tools, "-m", "build", f"--{kind}", "--outdir", into / kind, ROOT, cwd=into)
    (package,) = (into / kind).iterdir()
    return package


def environment(folder: Path) -> Path:
    """A new environment; its python."""
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin" / "python"


def without_torch(python: Path, folder: Path, trace: Path | None) -> None:
    """What reads needs no torch; what watches says so in a line."""
    gradscope = python.with_name("gradscope")
    assert "GS301" in run(gradscope, "rules", cwd=folder)
    assert "detach" in run(gradscope, "explain", "GS301", cwd=folder)
    assert "not installed" in run(gradscope, "doctor", cwd=folder)
    said = run(gradscope, "run", EXAMPLE, cwd=folder, expect=2)
    assert len(said.splitlines()) == 1 and "torch" in said, said
    if trace is not None:
        assert "GS301" in run(gradscope, "check", trace, cwd=folder)
        assert "layer1" in run(gradscope, "why", "layer1.weight", trace, cwd=folder)
        run(gradscope, "graph", trace, "-o", folder / "read.svg", cwd=folder)


def with_torch(python: Path, folder: Path) -> Path:
    """Runs an example as README's first command does; its trace."""
    trace = folder / "example.gradscope"
    gradscope = python.with_name("gradscope")
    said = run(gradscope, "run", "--trace", trace, "--graph", folder / "graph.svg", EXAMPLE, cwd=folder)
    assert "GS301" in said and (folder / "graph.svg").stat().st_size > 1000
    return trace


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        tools = environment(folder / "tools")
        run(tools, "-m", "pip", "install", "-q", "build", cwd=folder)
        trace = None
        for kind in ("wheel", "sdist"):
            package = build(kind, tools, folder)
            python = environment(folder / f"env-{kind}")
            run(python, "-m", "pip", "install", "-q", package, cwd=folder)
            without_torch(python, folder, trace)
            constraints = ROOT / "constraints.txt"
            run(python, "-m", "pip", "install", "-q", "-c", constraints, f"{package}[torch]", cwd=folder)
            trace = with_torch(python, folder)
            print(
                f"{package.name}: {package.stat().st_size / 1e6:.1f} MB, works with and without torch",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
