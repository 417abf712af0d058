"""The lab's report: one page that says what was compared, on what, how sure, what is simulated, and what it lost."""

from coldpress.lab.report.write import Written, write_report

__all__ = ["Written", "write_report"]
