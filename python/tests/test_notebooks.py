"""The notebooks run, and their assertions hold."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
for needed in ("ipykernel", "pyarrow", "matplotlib", "gymnasium"):
    pytest.importorskip(needed)

BOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def test_there_are_three_notebooks() -> None:
    assert len(BOOKS) == 3


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs_without_error(book: Path) -> None:
    notebook = nbformat.read(book, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs must not be committed"
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    if book.stem == "runs":
        shown = [kind for cell in notebook.cells for out in cell.get("outputs", ()) for kind in out.get("data", {})]
        assert "text/html" in shown and "image/png" in shown
