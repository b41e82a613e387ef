import numpy as np
import torch
import torch.nn as nn

rng = np.random.RandomState(4)
torch.manual_seed(4)
JOINTS, SIZE, OUT = 5, 48, 24
COLORS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]], np.float32)
POSE = np.array([[0, -9], [-6, -3], [6, -3], [-5, 8], [5, 8]], np.float32)


def make_people():
    people = []
    spots = [(24, 24), (10, 12), (38, 36)][:rng.randint(2, 4)]
    for cx, cy in spots:
        xy = POSE * rng.uniform(0.8, 1.1) + rng.uniform(-1.5, 1.5, (JOINTS, 2)) + [cx, cy] + rng.uniform(-2, 2, 2)
        seen = (rng.rand(JOINTS, 1) < 0.9) * 2
        people.append({"keypoints": np.concatenate([xy, seen], 1), "center": [cx, cy]})
    return people


def paint(people):
    img = rng.rand(3, SIZE, SIZE).astype(np.float32) * 0.5
    for person in people:
        for k, (x, y, v) in enumerate(person["keypoints"]):
            if v == 0:
                continue
            x, y = int(round(x)), int(round(y))
            img[:, max(y - 1, 0):y + 2, max(x - 1, 0):x + 2] = COLORS[k][:, None, None]
    return img


def make_record(people):
    main, others = people[0], people[1:]
    keypoints = []
    for kid in range(JOINTS):
        x, y, v = main["keypoints"][kid]
        keypoints.append([x / SIZE, y / SIZE, v])
    other_keypoints = [[] for _ in range(JOINTS)]
    for person in others:
        for kid2 in range(JOINTS):
            x, y, v = person["keypoints"][kid2]
            if v == 0:
                continue
            kx, ky = x / SIZE, y / SIZE
            if 0 < kx < 1 and 0 < ky < 1:
                other_keypoints[kid2].append([kx, ky])
    return {"img": paint(people), "people": people, "keypoints": keypoints, "other_keypoints": other_keypoints}


def add_gaussian(channel, kx, ky):
    yy, xx = np.mgrid[0:OUT, 0:OUT]
    g = np.exp(-((xx - kx * OUT + 0.5) ** 2 + (yy - ky * OUT + 0.5) ** 2) / 2)
    np.maximum(channel, g, out=channel)


def make_heatmap(record):
    heat = np.zeros((JOINTS, OUT, OUT), np.float32)
    for k, (x, y, v) in enumerate(record["keypoints"]):
        if v > 0:
            add_gaussian(heat[k], x, y)
    for k, points in enumerate(record["other_keypoints"]):
        for x, y in points:
            add_gaussian(heat[k], x, y)
    return heat


train = [make_record(make_people()) for _ in range(400)]
test = [make_record(make_people()) for _ in range(100)]
images = torch.from_numpy(np.stack([r["img"] for r in train]))
heatmaps = torch.from_numpy(np.stack([make_heatmap(r) for r in train]))

net = nn.Sequential(
    nn.Conv2d(3, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.Conv2d(24, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32),
    nn.ReLU(), nn.Conv2d(32, 32, 5, padding=2), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, JOINTS, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(10):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(images)).split(20):
        pred = net(images[idx])
        weight = 1 + 8 * heatmaps[idx]
        loss = (weight * (pred - heatmaps[idx]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch %d  heatmap loss %.5f" % (epoch, total / (len(images) / 20)))

net.eval()
hits, count = np.zeros((2, JOINTS)), np.zeros((2, JOINTS))
with torch.no_grad():
    out = net(torch.from_numpy(np.stack([r["img"] for r in test]))).numpy()
for heat, record in zip(out, test):
    for n, person in enumerate(record["people"]):
        for k, (x, y, v) in enumerate(person["keypoints"]):
            u, w = int(x / SIZE * OUT), int(y / SIZE * OUT)
            if v > 0 and 0 <= u < OUT and 0 <= w < OUT:
                count[min(n, 1), k] += 1
                hits[min(n, 1), k] += heat[k, w, u] > 0.3
print("found, person in the middle:", np.round(hits[0] / count[0], 3))
print("found, the other persons:   ", np.round(hits[1] / count[1], 3))
