import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
CLASSES, SIZE, PATCH, DIM = 3, 32, 4, 48


def make_scenes(n, gen):
    ys, xs = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    images = 0.15 * torch.randn(n, 3, SIZE, SIZE, generator=gen)
    masks = torch.zeros(n, SIZE, SIZE, dtype=torch.long)
    for i in range(n):
        for label in (1, 2):
            cy, cx = torch.randint(6, SIZE - 6, (2,), generator=gen).tolist()
            if label == 1:
                area = (ys - cy) ** 2 + (xs - cx) ** 2 < 36
            else:
                area = ((ys - cy).abs() < 5) & ((xs - cx).abs() < 5)
            masks[i][area] = label
            images[i, label][area] += 1.0
    return images, masks


class SegTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = SIZE // PATCH
        self.embed = nn.Conv2d(3, DIM, PATCH, stride=PATCH)
        self.position = nn.Parameter(0.02 * torch.randn(1, self.grid ** 2, DIM))
        block = nn.TransformerEncoderLayer(DIM, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, 2)
        self.norm = nn.LayerNorm(DIM)
        self.layers = nn.Sequential(
            nn.Conv2d(DIM, 32, 3, padding=1),
            nn.ReLU(),
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2d(32, CLASSES, 1),
        )

    def decode(self, x):
        return self.layers(x)

    def forward(self, images):
        x = self.embed(images).flatten(2).transpose(1, 2)
        x = self.norm(self.encoder(x + self.position))
        x = x.transpose(1, 2).reshape(-1, DIM, self.grid, self.grid)
        return self.decode(x)


gen = torch.Generator().manual_seed(1)
train_x, train_y = make_scenes(192, gen)
test_x, test_y = make_scenes(64, gen)
model = SegTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(train_x), generator=gen).split(16):
        loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch} loss {total / len(train_x):.4f}")

model.eval()
with torch.no_grad():
    pred = model(test_x).argmax(1)
ious = [((pred == c) & (test_y == c)).sum() / ((pred == c) | (test_y == c)).sum() for c in range(CLASSES)]
print("test iou", [round(v.item(), 3) for v in ious])
