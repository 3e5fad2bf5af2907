package lab.mongo.standin;

import java.util.List;

import de.bwaldvogel.mongo.MongoVersion;

/**
 * The protocol that current drivers ask for: that of MongoDB 7.0.
 */
class CurrentVersion implements MongoVersion {

	@Override
	public List<Integer> getVersionArray() {
		return List.of(7, 0, 0);
	}

	@Override
	public int getWireVersion() {
		return 21;
	}

}
