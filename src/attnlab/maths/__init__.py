"""Mathematics that several papers share: Hermite series, spherical harmonics, roots."""
