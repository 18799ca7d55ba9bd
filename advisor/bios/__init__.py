"""The only door to BMCs: Redfish by DMTF's library, one request once, to one host, bounded in size and time.

What it can write is a closed list: it logs in and out, PATCHes attributes to the settings object, POSTs one reset (a shutdown and
a start, where the BMC has no graceful restart), and DELETEs a job that it made itself and that has not begun.
"""
