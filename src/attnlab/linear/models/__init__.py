"""Linear transformers, their state, and the predictors they are compared with: ridges and Bayes."""
