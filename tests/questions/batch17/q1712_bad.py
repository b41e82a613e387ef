import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
codebook_size, patch_num, nclass = 16, 16, 4
mask_value = codebook_size


class MaskTransformer(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok_emb = nn.Embedding(codebook_size + 1, dim)
        self.cls_emb = nn.Embedding(nclass, dim)
        self.pos_emb = nn.Parameter(torch.randn(patch_num, dim) * 0.02)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.last = nn.Linear(dim, codebook_size)

    def forward(self, code, y):
        x = self.tok_emb(code) + self.pos_emb + self.cls_emb(y).unsqueeze(1)
        return self.last(self.layer(x))


layout = torch.randint(0, codebook_size, (nclass, patch_num))


def load_batch(n=4):
    y = torch.randint(0, nclass, (n,))
    code = layout[y]
    noise = torch.rand(n, patch_num) < 0.15
    return torch.where(noise, torch.randint(0, codebook_size, code.shape), code), y


def get_mask_code(code):
    ratio = torch.cos(torch.rand(len(code), 1) * 1.5)
    mask = torch.rand(code.shape) < ratio
    return torch.where(mask, torch.full_like(code, mask_value), code), mask


class MaskGIT:
    def __init__(self, grad_cum=8):
        self.vit = MaskTransformer()
        self.optim = torch.optim.SGD(self.vit.parameters(), lr=0.5, momentum=0.9)
        self.grad_cum, self.iter = grad_cum, 0

    def train_one_epoch(self, batches=320):
        cum_loss = norm = 0.0
        for _ in range(batches):
            code, y = load_batch()
            masked_code, _ = get_mask_code(code)
            pred = self.vit(masked_code, y)
            loss = F.cross_entropy(pred.reshape(-1, codebook_size), code.view(-1)) / self.grad_cum

            update_grad = self.iter % self.grad_cum == self.grad_cum - 1
            if update_grad:
                self.optim.zero_grad()

            loss.backward()
            if update_grad:
                norm = nn.utils.clip_grad_norm_(self.vit.parameters(), 1.0).item()
                self.optim.step()
            cum_loss += loss.item()
            self.iter += 1
        return cum_loss * self.grad_cum / batches, norm


maskgit = MaskGIT()
for epoch in range(4):
    loss, norm = maskgit.train_one_epoch()
    print(f"epoch {epoch}: loss {loss:.3f}  grad norm of the last step {norm:.3f}")

torch.manual_seed(1)
with torch.no_grad():
    code, y = load_batch(500)
    masked_code, mask = get_mask_code(code)
    accuracy = (maskgit.vit(masked_code, y).argmax(-1) == code)[mask].float().mean().item()
print(f"accuracy of the masked tokens: {accuracy:.3f}")
