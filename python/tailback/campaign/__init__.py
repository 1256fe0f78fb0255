"""Many runs: plans and sweeps, what they will take, how far they are, and where they are done.

`axes` has what is varied; `plan` runs a list of points, `sweep` a file of axes (`files`, `load`), adding seeds where
they are wanted (`grow`). `shards` and `dask` decide where runs are done. Studies and comparisons run through the same.
"""
