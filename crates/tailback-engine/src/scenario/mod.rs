//! Scenario files and everything that reads them.
