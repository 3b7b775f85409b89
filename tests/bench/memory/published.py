"""What others have published about memory beyond RAM. Our figures stand beside it; machine, programs and memory behind it are others."""

SOURCE = "Page Fault Accelerator, remote-memory paging: quicksort and genome assembly (University of California, Berkeley, UCB/EECS-2019-154)"
FIGURES = [
    ("local memory, % of what the program uses", "100 / 75 / 50 / 25"),
    ("faults at 25 %", "190,521"),
    ("time of a fault", "about 10 us"),
    ("faults, share of the time of the run in software at 25 %", "48 %"),
    ("bookkeeping, share of that time", "21 %"),
    ("outstanding faults before bookkeeping in one batch, at most", "64"),
    ("gain of the accelerator end to end, at most", "1.4 times"),
]
SHARES = {"faults": 0.48, "bookkeeping": 0.21}
