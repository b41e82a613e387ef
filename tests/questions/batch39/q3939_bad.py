import numpy as np
import torch
import torch.nn as nn


def average_precision(pred_dicts, target_dicts, radius=0.02):
    scores, hits, n_gt = [], [], 0
    for pred, target in zip(pred_dicts, target_dicts):
        order = pred["scores"].argsort(descending=True, stable=True)
        taken = set()
        n_gt += len(target["points"])
        dist = torch.cdist(pred["points"], target["points"])
        for i in order.tolist():
            j = int(dist[i].argmin())
            hit = dist[i, j].item() < radius and j not in taken
            if hit:
                taken.add(j)
            scores.append(pred["scores"][i].item())
            hits.append(float(hit))
    hits = np.array(hits)[np.argsort(-np.array(scores), kind="stable")]
    precision = np.cumsum(hits) / (np.arange(len(hits)) + 1)
    return float((precision * hits).sum() / n_gt)


class Evaluation:
    def __init__(self, gt):
        self.gt = gt

    def load_predictions(self, detections):
        self.predictions = {}
        for fname, pred in detections.items():
            points = []
            for point in pred["points"]:
                detected_class = 1 if point["name"] == "mitotic figure" else 0
                detected_thr = point["probability"]
                points.append([*point["point"][0:3], detected_class, detected_thr])
            self.predictions[fname] = points

    def score(self, det=0.5):
        tp, fp, fn, preds, targets = 0, 0, 0, [], []
        for case in self.gt:
            filtered = [(x, y) for x, y, z, cls, sc in self.predictions[case] if cls == 1 and sc > det]
            gt_points = torch.tensor([(x, y) for x, y, z in self.gt[case]])
            if filtered:
                found = (torch.cdist(torch.tensor(filtered), gt_points) < 0.02).any(1).sum().item()
            else:
                found = 0
            tp, fp, fn = tp + found, fp + len(filtered) - found, fn + len(gt_points) - found
            preds.append({"points": torch.tensor([(x, y) for (x, y, z, _, _) in self.predictions[case]]),
                          "scores": torch.tensor([float(sc) for (x, y, z, sc, _) in self.predictions[case]])})
            targets.append({"points": gt_points})
        return {"f1_score": 2 * tp / (2 * tp + fp + fn), "mAP": average_precision(preds, targets)}


torch.manual_seed(0)
direction = torch.randn(16)


def make_case():
    label = (torch.rand(60) < 0.25).long()
    feat = torch.randn(60, 16) + (label.float() * 0.55 - 0.2)[:, None] * direction
    return torch.rand(60, 3), feat, label


train_cases = [make_case() for _ in range(40)]
test_cases = {f"{i:03d}.tiff": make_case() for i in range(20)}
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
gt = {name: xyz[label == 1].tolist() for name, (xyz, _, label) in test_cases.items()}
evaluation = Evaluation(gt)
for epoch in range(10):
    total = 0.0
    for xyz, feat, label in train_cases:
        loss = nn.functional.cross_entropy(model(feat), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    detections = {}
    with torch.no_grad():
        for name, (xyz, feat, _) in test_cases.items():
            prob = model(feat).softmax(1)[:, 1]
            detections[name] = {"points": [
                {"name": "mitotic figure" if p > 0.5 else "non-mitotic figure", "point": q, "probability": p}
                for p, q in zip(prob.tolist(), xyz.tolist())]}
    evaluation.load_predictions(detections)
    result = evaluation.score()
    print(f"epoch {epoch} loss {total / 40:.4f} f1 {result['f1_score']:.3f} mAP {result['mAP']:.3f}")
