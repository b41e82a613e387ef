import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
NUM_LABELS = 3


def make_images(n, size=16):
    labels = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for c in (1, 2):
            r, q = torch.randint(0, size - 5, (2,)).tolist()
            labels[i, r:r + 4, q:q + 4] = c
    images = torch.randn(n, 1, size, size) * 0.6 + labels.unsqueeze(1).float()
    return images, labels


def intersect_and_union(pred_label, label, num_labels, ignore_index):
    mask = label != ignore_index
    pred_label = pred_label[mask]
    label = label[mask]
    intersect = pred_label[pred_label == label]
    area_intersect = np.histogram(intersect, bins=num_labels, range=(0, num_labels - 1))[0]
    area_pred = np.histogram(pred_label, bins=num_labels, range=(0, num_labels - 1))[0]
    area_label = np.histogram(label, bins=num_labels, range=(0, num_labels - 1))[0]
    return area_intersect, area_pred + area_label - area_intersect


def mean_iou(predictions, references, num_labels, ignore_index):
    inter, union = np.zeros(num_labels), np.zeros(num_labels)
    for p, r in zip(predictions, references):
        i, u = intersect_and_union(p, r, num_labels, ignore_index)
        inter += i
        union += u
    classes = [c for c in range(num_labels) if c != ignore_index]
    return float(np.mean(inter[classes] / np.maximum(union[classes], 1)))


train_x, train_y = make_images(96)
val_x, val_y = make_images(32)
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1),
                      nn.ReLU(), nn.Conv2d(16, NUM_LABELS, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
weight = torch.tensor([0.05, 1.0, 1.0])

for epoch in range(8):
    model.train()
    for i in range(0, 96, 16):
        loss = F.cross_entropy(model(train_x[i:i + 16]), train_y[i:i + 16], weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 2 == 1:
        model.eval()
        with torch.no_grad():
            pred = model(val_x).argmax(1)
        miou = mean_iou(pred.numpy(), val_y.numpy(), NUM_LABELS, ignore_index=0)
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} mean_iou {miou:.4f} "
              f"predicted fg {(pred > 0).float().mean().item():.3f} true fg {(val_y > 0).float().mean().item():.3f}")
