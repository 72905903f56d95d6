"""Statistics that every paper uses: how a number is compared with another, and how it is shown."""
