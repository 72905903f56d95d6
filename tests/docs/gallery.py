"""`docs/gallery_page.py`, which lies beside the pages and not in a package."""

import importlib.util

from tests.docs.markdown_pages import ROOT

_spec = importlib.util.spec_from_file_location("gallery_page", ROOT / "docs" / "gallery_page.py")
assert _spec is not None
assert _spec.loader is not None
gallery_page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(gallery_page)
