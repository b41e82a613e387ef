import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)
N_CLASSES = 6


def scenes(n, s=24):
    label = torch.zeros(n, s, s, dtype=torch.long)
    for i in range(n):
        for c in torch.randperm(N_CLASSES - 1)[:3] + 1:
            y, x = torch.randint(0, s - 8, (2,)).tolist()
            label[i, y:y + 8, x:x + 8] = c
    colours = torch.tensor([[.2, .2, .2], [.3, .3, .8], [.9, .3, .3], [.85, .35, .3], [.3, .8, .3], [.35, .75, .35]])
    image = colours[label].permute(0, 3, 1, 2) + 0.25 * torch.randn(n, 3, s, s)
    return image, label


def compute_iou_metric(y_hat, y, ignore_index=None, eps=1e-6):
    y_hat = torch.argmax(y_hat, dim=1)
    y_hat = y_hat.int()
    y = y.int()
    if ignore_index is not None:
        mask = y != ignore_index
        y_hat = y_hat * mask
        y = y * mask
    ious = []
    for c in range(N_CLASSES):
        pred_c, true_c = y_hat == c, y == c
        intersection = (pred_c & true_c).float().sum()
        union = (pred_c | true_c).float().sum()
        if union > 0:
            ious.append((intersection + eps) / (union + eps))
    return torch.stack(ious).mean()


model = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(),
                      nn.Conv2d(24, N_CLASSES, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss(ignore_index=255)
image, label = scenes(160)
val_image, val_label = scenes(40)
for epoch in range(10):
    model.train()
    total = 0.0
    for idx in torch.randperm(160).split(16):
        loss = criterion(model(image[idx]), label[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        logits = model(val_image)
        val_loss = criterion(logits, val_label)
        val_iou = compute_iou_metric(logits, val_label, ignore_index=255)
    print(f"epoch {epoch} loss {total / 10:.4f} val loss {val_loss:.4f} val mIoU {val_iou:.4f}")
