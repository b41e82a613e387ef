import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)


def get_activation_fn(activation):
    if activation is None or activation == "none":
        return lambda x: x
    if activation == "sigmoid":
        return nn.Sigmoid()
    raise NotImplementedError(activation)


def iou(outputs, targets, eps=1e-7, threshold=0.5, activation="sigmoid"):
    outputs = get_activation_fn(activation)(outputs)
    if threshold is not None:
        outputs = (outputs > threshold).float()
    intersection = torch.sum(targets * outputs)
    union = torch.sum(targets) + torch.sum(outputs) - intersection + eps
    return (intersection + eps) / union


def make_data(n, size=20):
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        r, c = torch.randint(0, size - 7, (2,)).tolist()
        masks[i, 0, r:r + 7, c:c + 7] = 1
    return masks + 0.5 * torch.randn(n, 1, size, size), masks


class UNetLike(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))

    def forward(self, x):
        return torch.sigmoid(self.body(x))


train_x, train_y = make_data(96)
val_x, val_y = make_data(32)
model = UNetLike()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    for i in range(0, 96, 16):
        loss = criterion(model(train_x[i:i + 16]), train_y[i:i + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 2 == 1:
        model.eval()
        with torch.no_grad():
            pr = model(val_x)
            val_loss = criterion(pr, val_y)
            score = iou(pr, val_y, activation=None)
        print(f"epoch {epoch + 1}: train {loss.item():.4f} val {val_loss.item():.4f} iou {score.item():.4f}")
