# Races of irace, for benchmarks/race.py: reads "LINES BLOCKS SEED", prints "RUN line" for each run it wants, reads its time,
# and in the end prints "ELITES line ...". One iteration over the given lines: nothing is sampled, it is the race alone.
suppressMessages(library(irace))
input <- file("stdin", "r")
repeat {
  asked <- readLines(input, n = 1)
  if (length(asked) == 0) break
  words <- as.integer(strsplit(asked, " ")[[1]])
  lines <- as.character(seq_len(words[1]) - 1)
  runner <- function(experiment, scenario) {
    cat("RUN", as.character(experiment$configuration[["line"]]), "\n")
    flush(stdout())
    list(cost = as.numeric(readLines(input, n = 1)), time = 1)
  }
  parameters <- readParameters(text = sprintf("line \"\" c (%s)", paste(lines, collapse = ", ")))
  scenario <- defaultScenario(list(
    targetRunner = runner, instances = seq_len(words[2]), sampleInstances = FALSE, deterministic = TRUE,
    maxExperiments = words[1] * words[2], initConfigurations = data.frame(line = lines),
    nbIterations = 1, nbConfigurations = words[1], minNbSurvival = 1, seed = words[3], logFile = "", quiet = TRUE, debugLevel = 0
  ))
  best <- suppressWarnings(irace(scenario, parameters))
  cat("ELITES", as.character(best[["line"]]), "\n")
  flush(stdout())
}
