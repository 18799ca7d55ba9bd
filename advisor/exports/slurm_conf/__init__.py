"""A site's slurm.conf and gres.conf against nodes as they are: what differs and costs something."""
