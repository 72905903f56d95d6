"""The studies and readers that come with attnlab, by name: the only place that names a paper.

An installed attnlab declares the same names as entry points (`attnlab.studies` and
`attnlab.readers` in pyproject.toml), as any other package may. These tables serve a source tree
that was never installed.
"""

STUDIES = {
    "linear": "attnlab.linear.study:study",
    "random": "attnlab.random.study:study",
    "rank": "attnlab.rank.study:study",
    "separation": "attnlab.separation.study:study",
}

# In the order in which a file is offered to them.
READERS = {
    "linear": "attnlab.linear.reading.reader:reader",
    "checkpoint": "attnlab.checkpoints.reader:reader",
}
