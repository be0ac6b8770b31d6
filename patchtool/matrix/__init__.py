"""The test matrix: cells, planning, running, verdicts, and the emulation that lets real upstream code run on CPU."""
