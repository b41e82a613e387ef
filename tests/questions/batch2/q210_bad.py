import torch
import torch.nn as nn
import torch.nn.functional as F


class EncoderImage(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, dim)
        )

    def forward(self, images):
        return F.normalize(self.net(images), dim=-1)


class EncoderText(nn.Module):
    def __init__(self, vocab=50, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32)
        self.rnn = nn.GRU(32, dim, batch_first=True)

    def forward(self, captions):
        _, h = self.rnn(self.embed(captions))
        return F.normalize(h[-1], dim=-1)


class VSE:
    def __init__(self):
        self.img_enc, self.txt_enc = EncoderImage(), EncoderText()
        params = list(self.img_enc.parameters()) + list(self.txt_enc.parameters())
        self.optimizer = torch.optim.Adam(params, lr=3e-3)
        self.Eiters = 0

    def train_start(self):
        self.img_enc.train()
        self.txt_enc.train()

    def val_start(self):
        self.img_enc.eval()
        self.txt_enc.eval()

    def forward_loss(self, images, captions, margin=0.2):
        scores = self.img_enc(images) @ self.txt_enc(captions).T
        diagonal = scores.diag().unsqueeze(1)
        cost_s = (margin + scores - diagonal).clamp(min=0)
        cost_im = (margin + scores - diagonal.T).clamp(min=0)
        off = ~torch.eye(len(scores), dtype=torch.bool)
        return cost_s[off].mean() + cost_im[off].mean()

    def train_emb(self, images, captions):
        self.Eiters += 1
        loss = self.forward_loss(images, captions)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def make_pairs(n, basis):
    captions = torch.randint(0, 50, (n, 5))
    images = basis[captions].mean(1) + 0.1 * torch.randn(n, 20)
    return images, captions


def validate(model, val_set):
    model.val_start()
    with torch.no_grad():
        scores = model.img_enc(val_set[0]) @ model.txt_enc(val_set[1]).T
    recall = (scores.argmax(1) == torch.arange(len(scores))).float().mean()
    print(f"  step {model.Eiters}: recall@1 {recall:.3f}")


def train(model, train_set, val_set, epochs=4, val_step=10):
    for epoch in range(epochs):
        model.train_start()
        order = torch.randperm(len(train_set[0]))
        for idx in order.split(32):
            loss = model.train_emb(train_set[0][idx], train_set[1][idx])
            if model.Eiters % val_step == 0:
                validate(model, val_set)
        print(f"epoch {epoch} loss {loss:.4f}")


torch.manual_seed(0)
basis = torch.randn(50, 20)
train(VSE(), make_pairs(1024, basis), make_pairs(100, basis))
