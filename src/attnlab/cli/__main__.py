"""`python -m attnlab.cli` is `attnlab`."""

from attnlab.cli.main import main

if __name__ == "__main__":
    main()
