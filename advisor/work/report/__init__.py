"""Makes a report: one machine, audited, drawn, measured, with its plan and launch lines; or one before and after a change; and exports."""
