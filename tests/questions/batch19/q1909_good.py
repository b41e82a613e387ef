import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
CLASSES, SIZE, DIM, MEMORY, PIXELS = 4, 16, 16, 400, 10


def make_scenes(n, gen):
    fixed = torch.Generator().manual_seed(31)
    colours = torch.randn(CLASSES, 6, generator=fixed)
    cells = torch.randint(0, CLASSES, (n, 1, 4, 4), generator=gen).float()
    labels = F.interpolate(cells, scale_factor=SIZE // 4)[:, 0].long()
    images = colours[labels].permute(0, 3, 1, 2)
    return images + 1.3 * torch.randn(images.shape, generator=gen), labels


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(6, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
        )
        self.project = nn.Conv2d(32, DIM, 1)
        self.classify = nn.Conv2d(32, CLASSES, 1)

    def forward(self, x):
        h = self.body(x)
        return self.classify(h), F.normalize(self.project(h), dim=1)


class PixelMemory:
    def __init__(self):
        self.queue = F.normalize(torch.randn(CLASSES, MEMORY, DIM), dim=2)
        self.pointer = torch.zeros(CLASSES, dtype=torch.long)

    @torch.no_grad()
    def store(self, embeddings, labels, gen):
        flat = embeddings.permute(0, 2, 3, 1).reshape(-1, DIM)
        flat_labels = labels.reshape(-1)
        for c in range(CLASSES):
            rows = (flat_labels == c).nonzero().squeeze(1)
            if len(rows) < PIXELS:
                continue
            rows = rows[torch.randperm(len(rows), generator=gen)[:PIXELS]]
            start = int(self.pointer[c])
            if start + PIXELS >= MEMORY:
                self.queue[c, -PIXELS:] = flat[rows]
                self.pointer[c] = 0
            else:
                self.queue[c, start:start + PIXELS] = flat[rows]
                self.pointer[c] = (self.pointer[c] + PIXELS) % MEMORY

    def contrast(self, anchors, labels, temperature=0.1):
        logits = anchors @ self.queue.reshape(-1, DIM).T / temperature
        owners = torch.arange(CLASSES).repeat_interleave(MEMORY)
        positive = (labels[:, None] == owners[None]).float()
        log_prob = logits - logits.logsumexp(1, keepdim=True)
        return -((positive * log_prob).sum(1) / positive.sum(1)).mean()


gen = torch.Generator().manual_seed(6)
train_x, train_y = make_scenes(160, gen)
test_x, test_y = make_scenes(40, gen)
model, memory = Embedder(), PixelMemory()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(6):
    seg_sum = con_sum = 0.0
    for idx in torch.randperm(len(train_x), generator=gen).split(4):
        scores, embeddings = model(train_x[idx])
        labels = train_y[idx]
        seg = F.cross_entropy(scores, labels)
        pick = torch.randint(0, labels.numel(), (64,), generator=gen)
        anchors = embeddings.permute(0, 2, 3, 1).reshape(-1, DIM)[pick]
        con = memory.contrast(anchors, labels.reshape(-1)[pick])
        loss = seg + 0.5 * con
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory.store(embeddings.detach(), labels, gen)
        seg_sum += seg.item()
        con_sum += con.item()
    print(f"epoch {epoch} seg {seg_sum / 40:.4f} contrast {con_sum / 40:.4f}")

with torch.no_grad():
    scores, embeddings = model(test_x)
    flat = embeddings.permute(0, 2, 3, 1).reshape(-1, DIM)
    similar = torch.einsum("nd,cmd->ncm", flat, memory.queue)
    within = torch.stack([similar[test_y.reshape(-1) == c, c].mean() for c in range(CLASSES)])
print("pixel acc", round((scores.argmax(1) == test_y).float().mean().item(), 4))
print("mean similarity of pixels to their own class in memory", [round(v.item(), 3) for v in within])
