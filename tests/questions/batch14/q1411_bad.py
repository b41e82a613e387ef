import torch
import torch.nn as nn
import torch.nn.functional as F


class MakeupAttack(nn.Module):
    def __init__(self, width=32, lr=2e-3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(width, 48), nn.ReLU(), nn.Linear(48, 16))
        self.dec = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, width))
        self.discr = nn.Sequential(nn.Linear(width, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
        self.face = nn.Linear(width, 24).requires_grad_(False)
        self.discr_opt = torch.optim.Adam(self.discr.parameters(), lr=lr / 2.5, betas=(0.5, 0.999))
        gen = list(self.enc.parameters()) + list(self.dec.parameters())
        self.gen_opt = torch.optim.SGD(gen, lr=0.01, momentum=0.5)
        self.norms, self.target_loss = [], []

    def update_discr(self, before, after):
        self.discr_opt.zero_grad()
        out_fake = torch.sigmoid(self.discr(self.dec(self.enc(before)).detach()))
        out_real = torch.sigmoid(self.discr(after))
        loss_d = F.mse_loss(out_real, torch.ones_like(out_real)) + F.mse_loss(
            out_fake, torch.zeros_like(out_fake)
        )
        loss_d.backward()
        nn.utils.clip_grad_norm_(self.discr.parameters(), 5)
        self.discr_opt.step()
        return loss_d.item()

    def update_gen(self, before, target):
        self.gen_opt.zero_grad()
        fake_after = self.dec(self.enc(before))
        fake_out = torch.sigmoid(self.discr(fake_after))
        target_loss = 1 - F.cosine_similarity(self.face(fake_after), self.face(target)).mean()
        style_loss = F.mse_loss(fake_after, before)
        discr_loss = F.mse_loss(fake_out, torch.ones_like(fake_out))
        loss_g = discr_loss + target_loss + style_loss
        loss_g.backward()
        nn.utils.clip_grad_norm_(self.discr.parameters(), 5)
        gen = list(self.enc.parameters()) + list(self.dec.parameters())
        self.norms.append(torch.stack([p.grad.norm() for p in gen]).norm().item())
        self.gen_opt.step()
        self.target_loss.append(target_loss.item())
        return style_loss.item()


def faces(n, mix, glare=0.02):
    x = torch.randn(n, 6) @ mix + 0.1 * torch.randn(n, mix.shape[1])
    return torch.where(torch.rand(n, 1) < glare, 5 * x, x)


def main():
    torch.manual_seed(0)
    mix_before, mix_after = torch.randn(6, 32), torch.randn(6, 32)
    model = MakeupAttack()
    target = torch.randn(1, 32)
    for epoch in range(6):
        d, style = 0.0, 0.0
        for _ in range(30):
            before, after = faces(16, mix_before), faces(16, mix_after)
            d += model.update_discr(before, after) / 30
            style += model.update_gen(before, target) / 30
        norms = model.norms[-30:]
        print(
            f"epoch {epoch}: d {d:.3f}  style {style:.3f}  target {sum(model.target_loss[-30:]) / 30:.3f}  "
            f"gradient norm of the generator: mean {sum(norms) / 30:.2f}  largest {max(norms):.2f}"
        )


if __name__ == "__main__":
    main()
