"""The launchers: every module of this folder is one, and has the parts that ``advisor.jobs.launcher.Launcher`` names."""
