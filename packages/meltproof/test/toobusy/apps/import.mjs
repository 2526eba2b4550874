import toobusy from 'meltproof/toobusy'
import check from './check.cjs'

check(toobusy)
