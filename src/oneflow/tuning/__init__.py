"""Settings that tune the process for speed or memory: `switches` names them, `linux` makes them.

None is made by importing the package, only when a program first runs; none changes a result. The
page `docs/tuning.md` lists each with its measured gain.
"""
