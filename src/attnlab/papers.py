"""The studies that come with attnlab, by name: the only place outside a paper that names one.

An installed attnlab declares the same names as entry points (`attnlab.studies` in pyproject.toml),
as any other package may. This table serves a source tree that was never installed.
"""

STUDIES = {
    "linear": "attnlab.linear.study:study",
    "random": "attnlab.random.study:study",
    "rank": "attnlab.rank.study:study",
    "separation": "attnlab.separation.study:study",
}
