"""Reading a linear transformer: from its weights to the algorithm that they implement."""
