const toobusy = require('meltproof/toobusy')
require('./check.cjs')(toobusy)
