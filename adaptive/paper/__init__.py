"""What Lombardo et al. 2020 print: Table 2 and the figures. Only the commands import it."""
