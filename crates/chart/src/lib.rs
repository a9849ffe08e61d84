//! What a chart is and how it is read, checked, packaged and created.
