import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)
torch.set_num_threads(1)


def get_max_per_row(mat, mask):
    non_zero_rows = torch.any(mask, dim=1)
    mat_masked = mat * mask
    return torch.max(mat_masked, dim=1), non_zero_rows


def get_min_per_row(mat, mask):
    non_inf_rows = torch.any(mask, dim=1)
    mat_masked = mat.masked_fill(~mask, float('inf'))
    return torch.min(mat_masked, dim=1), non_inf_rows


class BatchHardMiner:
    def __call__(self, embeddings, labels):
        with torch.no_grad():
            mat = torch.cdist(embeddings, embeddings)
            same = labels[:, None] == labels[None, :]
            eye = torch.eye(len(labels), dtype=torch.bool)
            pos_mask, neg_mask = same & ~eye, ~same
            (hard_pos, p_idx), a_ok = get_max_per_row(mat, pos_mask)
            (hard_neg, n_idx), n_ok = get_min_per_row(mat, neg_mask)
            keep = torch.where(a_ok & n_ok)[0]
            return keep, p_idx[keep], n_idx[keep]


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


num_classes, per_class = 20, 3
centers = 1.2 * torch.randn(num_classes, 16)
gallery = centers[:, None, :] + 0.9 * torch.randn(num_classes, per_class, 16)


def sample_batch(p=10, k=2):
    classes = torch.randperm(num_classes)[:p]
    idx = torch.randint(0, per_class, (p, k))
    x = gallery[classes[:, None], idx].reshape(p * k, -1)
    return x, classes.repeat_interleave(k)


model = Embedder()
miner = BatchHardMiner()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.TripletMarginLoss(margin=0.2)
query = centers[:, None, :] + 0.9 * torch.randn(num_classes, 10, 16)
q_label = torch.arange(num_classes).repeat_interleave(10)
g_label = torch.arange(num_classes).repeat_interleave(per_class)

running, valid, count = 0.0, 0, 0
for step in range(400):
    x, labels = sample_batch()
    emb = model(x)
    a, p, n = miner(emb, labels)
    loss = loss_fn(emb[a], emb[p], emb[n])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss.item()
    valid += (labels[a] == labels[p]).sum().item()
    count += len(a)
    if step % 80 == 79:
        with torch.no_grad():
            d = torch.cdist(model(query.reshape(-1, 16)), model(gallery.reshape(-1, 16)))
            p1 = (g_label[d.argmin(1)] == q_label).float().mean().item()
        print(f"step {step + 1}  loss {running / 80:.4f}  positives with the anchor's label {valid / count:.3f}  precision@1 {p1:.3f}")
        running, valid, count = 0.0, 0, 0
