"""Named data sets: their fact sheets, by publisher."""
