"""The machine as hwloc describes it, from lstopo or an XML file."""
