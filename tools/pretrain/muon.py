"""Muon (Jordan et al., 2024; scaling of Liu et al., 2025) on block matrices, AdamW on the rest."""
import torch


def is_block(name, p):
    return (
        p.dim() == 2
        and min(p.shape) >= 32
        and not name.endswith((".ind", ".tok", ".lab", ".reg"))
        and not name.startswith("in.")
    )


def newton_schulz(g, rounds=5):
    """(N, r, c) -> the nearest (semi-)orthogonal matrices, approximately"""
    x = g.bfloat16() if g.is_cuda else g.float()
    flip = x.shape[1] > x.shape[2]
    if flip:
        x = x.transpose(1, 2)
    x = x / (x.float().flatten(1).norm(dim=1)[:, None, None] + 1e-7).to(x.dtype)
    for _ in range(rounds):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return x.transpose(1, 2) if flip else x


class Optimiser:
    def __init__(self, P, decay=0.01, momentum=0.95, betas=(0.9, 0.98)):
        self.P, self.decay, self.mu, self.betas = P, decay, momentum, betas
        groups = {}
        self.small = [k for k, p in P.items() if not is_block(k, p)]
        for k, p in P.items():
            if is_block(k, p):
                groups.setdefault(tuple(p.shape), []).append(k)
        self.groups = list(groups.values())
        self.m = [torch.zeros(len(g), *P[g[0]].shape, device=P[g[0]].device) for g in self.groups]
        self.a = [torch.zeros_like(P[k]) for k in self.small]
        self.v = [torch.zeros_like(P[k]) for k in self.small]
        self.t = 0

    @torch.no_grad()
    def step(self, lr, clip=1.0):
        self.t += 1
        P = self.P
        for keys, m in zip(self.groups, self.m):
            g = torch.stack([P[k].grad for k in keys])
            m.mul_(self.mu).add_(g)
            u = newton_schulz(g + self.mu * m).float()
            scale = 0.2 * max(u.shape[1:]) ** 0.5
            ps = [P[k] for k in keys]
            torch._foreach_mul_(ps, 1.0 - lr * self.decay)
            torch._foreach_add_(ps, list(u.unbind(0)), alpha=-lr * scale)
        ps = [P[k] for k in self.small]
        gs = [p.grad for p in ps]
        total = torch.stack([g.norm() for g in gs]).norm()
        k = (clip / (total + 1e-6)).clamp(max=1.0)
        gs = [g * k for g in gs]
        b1, b2 = self.betas
        torch._foreach_mul_(self.a, b1)
        torch._foreach_add_(self.a, gs, alpha=1 - b1)
        torch._foreach_mul_(self.v, b2)
        torch._foreach_addcmul_(self.v, gs, gs, value=1 - b2)
        den = torch._foreach_sqrt(torch._foreach_div(self.v, 1 - b2**self.t))
        torch._foreach_add_(den, 1e-8)
        torch._foreach_addcdiv_(ps, self.a, den, value=-lr / (1 - b1**self.t))

    def state(self):
        return dict(
            m=[m.bfloat16().cpu() for m in self.m],
            a=[x.cpu() for x in self.a],
            v=[x.cpu() for x in self.v],
            t=self.t,
        )

    def load(self, s):
        """Of a state from before the last tensors were added, theirs begin at zero."""
        for x, y in zip(self.m, s["m"]):
            x[: len(y)].copy_(y.to(x.dtype))
        for own, kept in ((self.a, s["a"]), (self.v, s["v"])):
            for x, y in zip(own, kept):
                x.copy_(y)
        self.t = s["t"]
