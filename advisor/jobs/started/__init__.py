"""What every task under a launcher needs: hosts, programs, files, plans."""
