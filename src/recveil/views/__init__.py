"""The shapes of Interactions that kernels take."""
