import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = "abcdefghijklmnop"
EOS, PAD = len(VOCAB), len(VOCAB) + 1


def encode_sequences(words, max_length=8):
    gt = torch.full((len(words), max_length), PAD)
    seq_len = torch.tensor([len(w) for w in words])
    for i, w in enumerate(words):
        gt[i, : len(w)] = torch.tensor([VOCAB.index(c) for c in w])
        gt[i, len(w)] = EOS
    return gt, seq_len


class SARLike(nn.Module):
    def __init__(self, height=6, dim=32):
        super().__init__()
        self.feat = nn.Conv1d(height, dim, 3, padding=1)
        self.encoder = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, len(VOCAB) + 2)

    @staticmethod
    def compute_loss(model_output, gt, seq_len):
        input_len = model_output.shape[1]
        seq_len = seq_len + 1
        cce = F.cross_entropy(model_output.permute(0, 2, 1), gt, reduction="none")
        mask_2d = torch.arange(input_len)[None, :] >= seq_len[:, None]
        cce[mask_2d] = 0
        ce_loss = cce.sum(1) / seq_len.to(dtype=torch.float32)
        return ce_loss.unsqueeze(1)

    def forward(self, x, target=None):
        feats = torch.relu(self.feat(x)).transpose(1, 2)
        logits = self.head(self.encoder(feats)[0])
        out = {"preds": logits.argmax(-1)}
        if target is not None:
            gt, seq_len = encode_sequences(target)
            out["loss"] = self.compute_loss(logits, gt, seq_len)
        return out


class WordImages:
    def __init__(self, height=6):
        self.glyphs = torch.randn(len(VOCAB), height)

    def batch(self, n, width=8):
        words, imgs = [], torch.zeros(n, self.glyphs.shape[1], width)
        for i in range(n):
            ids = torch.randint(0, len(VOCAB), (int(torch.randint(2, 8, (1,))),))
            words.append("".join(VOCAB[k] for k in ids.tolist()))
            imgs[i, :, : len(ids)] = self.glyphs[ids].t()
        return imgs + 0.2 * torch.randn_like(imgs), words


def fit_one_epoch(model, data, optimizer, scheduler, steps=30):
    model.train()
    total = 0.0
    for _ in range(steps):
        images, targets = data.batch(32)
        train_loss = model(images, targets)["loss"]
        optimizer.zero_grad()
        train_loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        scheduler.step()
        total += train_loss.item()
    return total / steps


torch.manual_seed(50)
data, model = WordImages(), SARLike()
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=120)
for epoch in range(4):
    print(f"Epoch {epoch + 1}/4 - Training loss: {fit_one_epoch(model, data, optimizer, scheduler):.4f}")
