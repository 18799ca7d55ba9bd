"""Makes a report of one machine, audited, drawn, measured, with its plan and launch lines; of a change; and exports."""
