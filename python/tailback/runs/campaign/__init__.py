"""Many runs: plans and sweeps, their estimated cost, their progress, and the places where they run.

`axes` has the axes that are varied. `plan` runs a list of points. `sweep` runs a file of axes (`files`, `load`), and
adds seeds to points that need them (`grow`). `errand` runs a plan. `places` decides where a plan runs: in this process,
in `shards`, or on `dask`. Studies and comparisons use the same modules.
"""
